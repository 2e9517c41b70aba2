package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// RSS returns the resident memory of the process in bytes. It needs /proc.
func (s *Server) RSS() (int64, error) { return s.status("VmRSS") }

// OwnMemory returns the resident memory that no file backs. It needs /proc.
func (s *Server) OwnMemory() (int64, error) { return s.status("RssAnon") }

// PeakRSS returns the largest RSS the process has had. It needs /proc.
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

// CPU returns the processor time the server has used. It needs Linux.
func (s *Server) CPU() (time.Duration, error) { return CPU(s.PID) }
