//go:build !linux

package chatter

import "fmt"

// needFiles refuses: what needs it reads /proc as well, and has its clients
// come from many addresses of 127.0.0.0/8.
func needFiles(uint64) error { return fmt.Errorf("%w: this is measured on Linux only", errRefused) }
