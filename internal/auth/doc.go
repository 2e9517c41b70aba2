// Package auth knows who is calling and whether they may. It keeps workspaces,
// their principals and their API keys, and it is the gate in front of every
// route that is not public.
//
// It promises that a key's text is shown once and stored nowhere, that a
// revoked key is refused from the next request on, in every process, and that
// no key can make another one that has more rights than its own or outlives the
// groups its own rights come from. What belongs to another workspace looks
// exactly like what does not exist.
//
// It does not know what areas do with the rights it grants.
package auth
