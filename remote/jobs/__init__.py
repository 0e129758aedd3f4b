"""What runs on a host by itself: jobs, the private directories they run in, and who measures there now."""
