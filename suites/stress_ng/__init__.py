"""stress-ng: its memory stressors stream and memrate, as a second opinion on what memory delivers."""
