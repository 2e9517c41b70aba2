// Package textfile reads the files that people write for a USSD line: menu
// packs, gateways and dialogs.
package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Max limits the bytes of a file.
const Max = 256 << 10

var (
	errKind = errors.New("not a regular file")
	errSize = fmt.Errorf("more than %d bytes", Max)
)

// Read returns the content of a file. It refuses a pipe or a device, which may
// never end or never begin, and a file of more than Max bytes. It never blocks,
// so nothing at the path can stop a process that reads it from time to time.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path) // opening some devices does something already
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errKind}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it was put there meanwhile
		err = &os.PathError{Op: "read", Path: path, Err: errKind}
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, Max+1))
	if err == nil && len(data) > Max {
		err = &os.PathError{Op: "read", Path: path, Err: errSize}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
