"""What was measured: logs, their readers, drives and signal processing."""
