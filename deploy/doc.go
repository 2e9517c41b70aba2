// Package deploy checks the files of this folder: the systemd unit, the Dockerfile and
// the compose file. It has no code of its own. The chart is tested by a module of its
// own, chart, and the proxies are run by test/fleet.
package deploy
