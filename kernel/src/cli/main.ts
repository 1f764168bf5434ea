#!/usr/bin/env node
import { runProgram } from './program.ts'

// A reader such as `head` may leave early; that is no failure of the program.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

/** How long what a plugin left open may keep the process alive, in milliseconds. */
const lingerMs = 1000

const standardStreams = ['PipeWrap', 'TTYWrap']

process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  directory: process.cwd(),
})

// Does not hold the process itself: it fires only where something else does.
setTimeout(() => {
  const open = process.getActiveResourcesInfo().filter((resource) => !standardStreams.includes(resource))
  process.stderr.write(`Ended although something is still open: ${open.join(', ') || 'unknown'}.\n`)
  process.exit()
}, lingerMs).unref()
