package api

// Point is where a twin is. It has no name: ask /v1/names for the names of
// those you show.
type Point struct {
	DID    string  `json:"did" example:"did:ixo:entity:household-7"`
	Type   string  `json:"type" example:"Household"`
	Status string  `json:"status" enum:"draft,active,suspended,completed,deactivated"`
	Lat    float64 `json:"lat" example:"-0.09"`
	Lon    float64 `json:"lon" example:"34.77"`
}

// PointCluster represents the twins in one cell of a grid.
type PointCluster struct {
	Lat float64 `json:"lat" doc:"The middle of its twins." example:"-0.1"`
	Lon float64 `json:"lon" example:"34.75"`
	N   int     `json:"n" doc:"How many twins it stands for." example:"412"`
}

// Points are the places of twins: each one, or clusters when there are too many
// for one map.
type Points struct {
	Items     []Point        `json:"items" doc:"At most 5,000, newest twins first. Empty when there are clusters."`
	Clusters  []PointCluster `json:"clusters" doc:"In place of items when more than 5,000 were found: cells of a grid of at most 40 by 40 over bbox, or over what was found. Otherwise empty."`
	Truncated bool           `json:"truncated" doc:"There may be more: the newest twins that type, status or project lead to have been looked at, and the search ended before the oldest. Narrow one of them; a smaller bbox alone looks at the same twins."`
	Rounded   bool           `json:"rounded" doc:"Coordinates are rounded to 0.01 degrees (about 1 km), for you have not the scope entities:pii."`
}
