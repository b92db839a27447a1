package main

// Main and Run are the command for its tests, which are external.
var (
	Main = main
	Run  = run
)
