// Package web is the HTTP edge every area stands on: a table of typed routes
// that is also the OpenAPI document, strict decoding of what comes in, one
// place that turns errors into the caller's dialect, and the guards (limits,
// caps, headers, addresses) in front of it all. It knows no SQL and no area;
// who may call what is decided by a Gate that is handed in.
package web
