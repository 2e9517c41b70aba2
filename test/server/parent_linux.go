package server

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the server when we are killed, so that a
// test that timed out leaves nothing behind.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
