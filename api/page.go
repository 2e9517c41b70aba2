package api

// Page is one page of a list. Follow HasMore, not the number of items: a page
// may be short or empty although the list continues.
type Page[T any] struct {
	Items []T      `json:"items"`
	Page  PageInfo `json:"page"`
}

// PageInfo says where a page ends.
type PageInfo struct {
	Limit      int    `json:"limit" doc:"How many items were asked for at most."`
	NextCursor string `json:"nextCursor,omitempty" doc:"Give this as cursor to read on."`
	HasMore    bool   `json:"hasMore" doc:"Whether there is more. A page may be short although there is."`
	AsOf       int64  `json:"asOf,omitzero" doc:"Of responses: number of the newest event when the list was begun. A decision about many by a filter names it, and leaves out what has changed since."`
	Hint       string `json:"hint,omitempty" doc:"What may have been meant, when nothing has what the query asks for." example:"No twin has the type stoves. Did you mean Stove?"`
}
