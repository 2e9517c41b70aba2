// Package ops is what an operator sees of the process: structured logs that
// show known fields only, Prometheus metrics, optional traces in the
// OpenTelemetry format, notifications to systemd, and the memory limits of the
// Go runtime.
//
// Nothing in it is global. The app package makes one of each and hands them
// out. It knows nothing of areas, routes or storage: those bring their own
// labels and numbers.
package ops
