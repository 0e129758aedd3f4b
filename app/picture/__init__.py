"""The report picture: one PNG that stands alone in a ticket."""

from app.picture.report import report_picture

__all__ = ["report_picture"]
