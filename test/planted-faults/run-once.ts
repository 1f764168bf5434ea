/**
 * Runs command lines of `plinth` one after another in this process, so that the code is loaded only once. A product is
 * stopped as soon as it serves requests. Usage: run-once.ts doctor start
 */
import { writeSync } from 'node:fs'
import { endProcess, onUnexpectedProcessEnd } from '../../kernel/src/cli/process-end.ts'
import { runProgram } from '../../kernel/src/cli/program.ts'

/** Writes synchronously, as the log does, so that the output is in the right order. */
const print = (text: string) => void writeSync(1, text)

for (const command of process.argv.slice(2)) {
  const end = new AbortController()
  const ready = () => {
    print('{"isReady":true}\n')
    end.abort(new Error('the test has seen it'))
  }
  print(`\n${command} begins\n`)
  const exitCode = await runProgram([...command.split(' '), '--json'], {
    stdout: { write: print },
    stderr: { write: print },
    environment: process.env,
    directory: process.cwd(),
    supervisor: {
      mode: 'start',
      signal: end.signal,
      begun: Promise.resolve(),
      preloaded: Promise.resolve([]),
      permitted: Promise.resolve(),
      ready,
      loads: () => {},
      loadsModule: () => {},
      failed: () => {},
    },
    onUnexpectedEnd: onUnexpectedProcessEnd,
  })
  print(`\n{"ended":${exitCode}}\n`)
}
endProcess()
