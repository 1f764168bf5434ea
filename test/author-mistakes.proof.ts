import { rmSync } from 'node:fs'
import t from 'tap'
import { messagePointMistakes, otherPointMistakes } from './author-mistakes/contributions.ts'
import { keyMistakes, permissionAndTextMistakes, referenceMistakes } from './author-mistakes/declarations.ts'
import { faultyPluginId, type Mistake, reportsOf } from './author-mistakes/mistake.ts'
import { crashMistakes, eventMistakes, routeMistakes, setupMistakes } from './author-mistakes/running.ts'
import { tableMistakes, taskMistakes } from './author-mistakes/tables-and-tasks.ts'

const mistakes: readonly Mistake[] = [
  referenceMistakes,
  keyMistakes,
  permissionAndTextMistakes,
  tableMistakes,
  taskMistakes,
  messagePointMistakes,
  otherPointMistakes,
  setupMistakes,
  crashMistakes,
  routeMistakes,
  eventMistakes,
].flat()

t.test('C-002 a typical mistake of an author is reported with plugin, place, cause and fix', async (t) => {
  const directory = t.testdir()
  for (const one of mistakes) {
    t.test(`${one.id}: ${one.mistake}`, async (t) => {
      const reports = await reportsOf(one, `${directory}/${one.id}`)
      const report = reports.find(
        ({ code, text }) => code === one.code && text.includes(one.cause) && text.includes(one.place),
      )
      if (report === undefined) {
        const found = reports.map(({ code, text }) => `${code}: ${text}`).join('\n')
        return t.fail(`reported with the code ${one.code}, its place and its cause`, {
          found,
          place: one.place,
          cause: one.cause,
        })
      }
      const { plugin = faultyPluginId, fix, absent } = one
      for (const part of [...(plugin === null ? [] : [plugin]), fix]) {
        t.ok(report.text.includes(part), `the report contains ${JSON.stringify(part)}`, { text: report.text })
      }
      if (absent !== undefined)
        t.notOk(report.text.includes(absent), `the report does not contain ${JSON.stringify(absent)}`)
      rmSync(`${directory}/${one.id}`, { recursive: true, force: true })
    })
  }
})

t.test('every mistake of the table has its own name', async (t) => {
  t.equal(new Set(mistakes.map(({ id }) => id)).size, mistakes.length)
})
