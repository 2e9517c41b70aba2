package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// RSS is the memory of the process in bytes. It needs /proc.
func (s *Server) RSS() (int64, error) { return s.status("VmRSS") }

// OwnMemory is the memory that no file backs. It needs /proc.
func (s *Server) OwnMemory() (int64, error) { return s.status("RssAnon") }

// PeakRSS is the most memory the process ever had. It needs /proc.
func (s *Server) PeakRSS() (int64, error) { return s.status("VmHWM") }

func (s *Server) status(name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		return kib << 10, err
	}
	return 0, fmt.Errorf("no %s in the status of process %d", name, s.PID)
}

// CPU is the processor time the server has used. It needs /proc.
func (s *Server) CPU() (time.Duration, error) { return CPU(s.PID) }

// CPU is the processor time any process has used, in steps of 10 ms. It needs
// /proc.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold anything, so count from its end.
	_, rest, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("cannot read the CPU time of process %d", pid)
	}
	var sum time.Duration
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * clockTick
	}
	return sum, nil
}
