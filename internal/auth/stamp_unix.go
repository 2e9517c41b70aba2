//go:build unix

package auth

import (
	"os"
	"runtime"
	"syscall"
)

// sizeOf is the size of an open file, false when it was removed or replaced.
func sizeOf(f *os.File) (int64, bool) {
	var st syscall.Stat_t
	err := syscall.Fstat(int(f.Fd()), &st)
	runtime.KeepAlive(f)
	return st.Size, err == nil && st.Nlink > 0
}
