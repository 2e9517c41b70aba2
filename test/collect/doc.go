// Package collect simulates a phone that behaves like ODK Collect and sends interviews to
// the built program: with photos in several posts, over a link that drops, through
// crashes of the server, until each one is acknowledged. It also shows our forms in a
// browser with Enketo's form engine.
package collect
