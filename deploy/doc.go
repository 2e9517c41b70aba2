// Package deploy checks the files in this folder: the systemd unit, the Dockerfile and
// the compose file. It contains only tests. The chart has a test module of its own,
// chart, and test/fleet runs the proxies.
package deploy
