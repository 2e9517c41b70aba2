// Package console drives the web console in a real browser, as the people who
// work in it do. A violation of the pages' policy, an exception, a failed request
// or one to another address fails any test.
package console
