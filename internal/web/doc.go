// Package web is the HTTP edge that every area uses: a table of typed routes
// that is also the OpenAPI document, strict decoding of requests, one place
// that turns errors into the caller's dialect, and the guards (limits, caps,
// headers, addresses) in front of it all. It knows no SQL and no area; the Gate
// it is given decides who may call what.
package web
