package api

import "time"

// Demo is the state of the demo programme.
type Demo struct {
	Status     string     `json:"status" enum:"none,loading,ready,failed,removing" doc:"none: it is not there. failed: the job of the load has ended before the demo was complete; POST goes on with it."`
	ID         string     `json:"id,omitzero" doc:"Name of this load of it."`
	Seed       int64      `json:"seed,omitzero" doc:"The number from which its names, places, answers and verdicts were generated."`
	StartedAt  time.Time  `json:"startedAt,omitzero"`
	FinishedAt time.Time  `json:"finishedAt,omitzero"`
	Seconds    float64    `json:"seconds,omitzero" doc:"How long the load took, in all attempts together."`
	By         string     `json:"by,omitzero" doc:"DID of whoever loaded it."`
	Counts     DemoCounts `json:"counts,omitzero" doc:"What it holds, once it is ready."`
	Links      DemoLinks  `json:"links"`
}

// DemoCounts is what the demo holds.
type DemoCounts struct {
	Organisations int `json:"organisations"`
	Groups        int `json:"groups"`
	People        int `json:"people"`
	Households    int `json:"households"`
	Stoves        int `json:"stoves"`
	Monitors      int `json:"monitors"`
	Readings      int `json:"readings"`
	Surveys       int `json:"surveys"`
	Interviews    int `json:"interviews"`
	Pictures      int `json:"pictures"`
	Verified      int `json:"verified"`
	Rejected      int `json:"rejected"`
	Waiting       int `json:"waiting"`
	BackChecks    int `json:"backChecks"`
	Drawn         int `json:"drawn" doc:"Households of the drawn sample."`
	KitchenTests  int `json:"kitchenTests"`
	Customers     int `json:"customers"`
	Calls         int `json:"calls"`
	ByPhone       int `json:"byPhone" doc:"Interviews over USSD, beside those above."`
	Conversations int `json:"conversations"`
	Webhooks      int `json:"webhooks"`
	Jobs          int `json:"jobs"`
	Claims        int `json:"claims"`
	Credentials   int `json:"credentials"`

	Skipped []string `json:"skipped,omitzero" doc:"Parts that were left out, and why."`
}

// DemoLinks are the addresses of the demo.
type DemoLinks struct {
	Self    string `json:"self" example:"/v1/demo"`
	Job     string `json:"job,omitzero" doc:"The job that loads or removes it." example:"/v1/jobs/0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
	Project string `json:"project,omitzero" doc:"The twin of its project."`
}

// DemoDraft asks for a load.
type DemoDraft struct {
	Seed  int64 `json:"seed,omitzero" doc:"A different number gives different names, places and answers; 1 by default." minimum:"0" maximum:"9007199254740991"`
	Force bool  `json:"force,omitzero" doc:"Load it even if the store holds other data, or the server is in production."`
}
