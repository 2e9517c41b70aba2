package intake

import "io"

// Unpacking is a table of an archive whose tables may unpack to left bytes.
func Unpacking(r io.Reader, left *int64) io.Reader { return unpacking{io.NopCloser(r), left} }
