// Package hostile fires bad input at the built program and watches it from
// outside: broken JSON, nasty strings in every place the API document names,
// bombs, malformed HTTP, and deliberately slow clients. Whatever comes in, no
// answer is a 5xx or takes two seconds, every answer has the documented form,
// the process stays alive and small, and other clients are served meanwhile.
//
// It holds tests only.
package hostile
