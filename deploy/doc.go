// Package deploy checks the files of this folder: the systemd unit and the
// Dockerfile. It has no code of its own.
package deploy
