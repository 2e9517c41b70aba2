package api

// ODataService lists the tables of a survey's feed.
type ODataService struct {
	Context string       `json:"@odata.context" doc:"Address of the description of the tables."`
	Value   []ODataTable `json:"value"`
}

// ODataTable is a table of a feed.
type ODataTable struct {
	Name string `json:"name" example:"Submissions"`
	Kind string `json:"kind" enum:"EntitySet"`
	URL  string `json:"url" doc:"Relative to the address of the list."`
}

// ODataPage is a page of a table of a feed.
type ODataPage struct {
	Context  string           `json:"@odata.context"`
	Count    *int64           `json:"@odata.count,omitzero" doc:"Rows on all pages, where $count asks for them."`
	Value    []map[string]any `json:"value" doc:"Rows, as $metadata describes them."`
	NextLink string           `json:"@odata.nextLink,omitzero" doc:"Address of the next page; absent at the end."`
}
