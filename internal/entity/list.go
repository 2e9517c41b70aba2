package entity

import "time"

// Query says which twins, and in which order. All that is given must hold.
type Query struct {
	DID          string
	ExternalID   string // a value of externalIds, under any name
	Type         string
	Class        string
	Protocol     string // DID
	Status       string
	Project      string    // DID
	UpdatedSince time.Time // that moment or later
	Near         string    // "latitude,longitude,metres"
	Filter       string    // in the language of package rql
	Sort         string    // created, -created, updated, -updated, properties.x or -properties.x
	Limit        int       // 1 to 1000; 0 is 50
	After        *Place    // where to go on: Next of the page before; nil at the start
}

// Place is a place in a list. Keep it for the same Query only.
type Place struct {
	NID int64  `json:"n"`
	Val string `json:"v,omitzero"` // of the property the list is sorted by
	At  int64  `json:"t,omitzero"` // ms; when the list is sorted by updated
}

// Found is one page.
type Found struct {
	Rows []*Row // without name, action, actor, request, reason and hash; Body as the caller may see it
	Next *Place // where the list goes on; nil when it has ended. Follow it even when Rows is empty
}

// Bodies are the records of the page as they are sent.
func (f Found) Bodies() [][]byte {
	out := make([][]byte, len(f.Rows))
	for i, r := range f.Rows {
		out[i] = r.Body
	}
	return out
}
