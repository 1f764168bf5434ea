import t from 'tap'
import { dataDirectory, quickstart, runProgram } from './fixtures/product-process.ts'

t.test('the entities of all plugins match the tables of their change sets', async (t) => {
  const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
  const on = ['--product', quickstart, '--set', `platform.database.sqlite.file=${file}`]
  t.match(await runProgram(['migrate', ...on]), { code: 0 })
  t.strictSame(await runProgram(['migrate', 'draft', ...on]), {
    code: 0,
    signal: null,
    stdout: 'The database agrees with the entities.\n',
    stderr: '',
  })
})
