package menu

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// MaxFile limits the bytes of a file.
const MaxFile = 256 << 10

var (
	errNoFile    = errors.New("not a regular file")
	errLargeFile = fmt.Errorf("more than %d bytes", MaxFile)
)

// ReadFile returns the content of a file. It refuses a pipe or a device, which may
// never end or never begin, and a file of more than MaxFile bytes. It never blocks,
// so nothing at the path can stop a process that reads it from time to time.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // opening some devices does something already
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it was put there meanwhile
		err = &os.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = &os.PathError{Op: "read", Path: path, Err: errLargeFile}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
