package vcapi

// ExamplePresentation is that of the reference, for tests.
var ExamplePresentation = examplePresentation
