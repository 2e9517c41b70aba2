// Package collect has a phone with ODK Collect's manners send interviews to the
// built program: with photos in several posts, over a link that drops, through
// crashes of the server, again and again until each is acknowledged. And it shows our
// forms in a browser with the form engine of Enketo.
package collect
