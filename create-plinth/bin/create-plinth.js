#!/usr/bin/env node
// Plain JavaScript: an old Node.js must be able to read it.
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 24 || (major === 24 && minor >= 7)) await import('#main')
else {
  process.stderr.write(
    `Plinth requires Node.js 24.7 or later, but this process runs on Node.js ${process.versions.node}.\n`,
  )
  process.exitCode = 1
}
