package entity

import "time"

// Query selects twins and orders them. All conditions must hold.
type Query struct {
	DID          string
	ExternalID   string // a value of externalIds, under any name
	Type         string
	Class        string
	Protocol     string // DID
	Status       string
	Project      string    // DID
	UpdatedSince time.Time // at this moment or later
	Near         string    // "latitude,longitude,metres"
	Filter       string    // in the language of package rql
	Sort         string    // created, -created, updated, -updated, properties.x or -properties.x
	Limit        int       // 1 to 1000; 0 is 50
	After        *Place    // where to continue: Next of the page before; nil at the start
}

// Place is a position in a list. Use it with the same Query only.
type Place struct {
	NID int64  `json:"n"`
	Val string `json:"v,omitzero"` // of the property the list is sorted by
	At  int64  `json:"t,omitzero"` // ms; when the list is sorted by updated
}

// Found is one page.
type Found struct {
	Rows []*Row // without name, action, actor, request, reason and hash; Body as the caller may see it
	Next *Place // where the list continues; nil at its end. Follow it even when Rows is empty
}

// Bodies returns the records of the page as they are sent.
func (f Found) Bodies() [][]byte {
	out := make([][]byte, len(f.Rows))
	for i, r := range f.Rows {
		out[i] = r.Body
	}
	return out
}
