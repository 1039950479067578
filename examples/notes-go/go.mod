module notes

go 1.24
