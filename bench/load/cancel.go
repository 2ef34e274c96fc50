package main
func runCancel(args []string) error { return nil }
