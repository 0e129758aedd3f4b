"""What a test is: parameters, commands out, parsers in. Plain Python, no input or output of its own."""
