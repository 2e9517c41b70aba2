// Package entity is area A: the registry of digital twins. A twin is made from
// a protocol, keeps every revision it ever had, and is linked to others by
// typed relationships.
//
// It promises that no update is lost (every change names the revision it was
// made from, or is refused), that a twin, its history, its index and its event
// are stored together or not at all, and that nobody outside a workspace can
// find out whether a twin exists. The record is rendered once, when it is
// stored; readers get those bytes, the hash is over them, and the history keeps
// them.
//
// Protocols, lists, the graph, groups, devices, bulk work and DID documents are
// packages below this one.
package entity

import (
	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The types of the record and of its drafts, which this package stores.
type (
	// Credential names a credential about the twin.
	Credential = twin.Credential
	// Draft is what a twin is made from, and what a PUT replaces it with.
	Draft = twin.Draft
	// Endpoint is a place where a twin can be reached.
	Endpoint = twin.Endpoint
	// Entity is the record of a twin.
	Entity = twin.Entity
	// GroupDraft is a membership group an organisation is created with.
	GroupDraft = twin.GroupDraft
	// Brief is a short description of a twin, for expanded relationships.
	Brief = twin.Brief
	// LinkedResource is a document about the twin, kept elsewhere.
	LinkedResource = twin.LinkedResource
	// Object is a JSON object kept as text.
	Object = twin.Object
	// RelationDraft is what a relationship is made from.
	RelationDraft = twin.RelationDraft
	// Relationship is one as the record of a twin shows it.
	Relationship = twin.Relationship
	// Status is the stage of a twin's life.
	Status = twin.Status
	// Verdict is what a verifier says about a twin.
	Verdict = api.Verdict
	// Verification says whether somebody has vouched for the twin.
	Verification = twin.Verification
)

// The statuses. StatusDeactivated is final; its DID stays resolvable.
const (
	StatusDraft       = twin.StatusDraft // a relationship its protocol requires is missing
	StatusActive      = twin.StatusActive
	StatusSuspended   = twin.StatusSuspended
	StatusCompleted   = twin.StatusCompleted
	StatusDeactivated = twin.StatusDeactivated
)

// checkReason bounds what goes into the history.
func checkReason(reason string) error {
	var c fault.Checks
	check.Optional(&c, "/reason", reason, check.MaxReason)
	return c.Err("ENTITY_INVALID", "The entity is not valid.")
}

// checkSize bounds the whole record: any one part may be large, but not all of
// them.
func checkSize(body []byte) error {
	if len(body) <= twin.MaxRecord {
		return nil
	}
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").
		With(fault.Field{Code: "too_large", Detail: "At most 768 KiB of JSON are accepted for a whole record."})
}
