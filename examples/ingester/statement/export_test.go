package statement

// LimitFiles sets the size from which files are refused, and gives the way back.
func LimitFiles(bytes int64) (restore func()) {
	was := maxFile
	maxFile = bytes
	return func() { maxFile = was }
}
