package main

// Execute is the command line for the tests, which are external.
var Execute = execute
