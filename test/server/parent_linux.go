package server

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the server when this process dies, so that a
// test that timed out leaves nothing behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
