//go:build !unix

package main

import "time"

// cpuTime is unknown on this platform; the table shows 0.
func cpuTime() time.Duration { return 0 }
