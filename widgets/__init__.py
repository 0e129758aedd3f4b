"""What a person sees and touches: Qt and pyqtgraph."""
