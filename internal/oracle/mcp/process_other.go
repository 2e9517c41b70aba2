//go:build !unix

package mcp

import "os/exec"

// apart does nothing here.
func apart(*exec.Cmd) {}

// kill ends a program.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // gone already is as good
