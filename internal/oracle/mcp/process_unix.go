//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// apart gives a program a process group of its own, so that what it starts can be
// ended with it, and a Ctrl-C for us does not reach it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a program and what it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // gone already is as good
