/** Tests the messages for mistakes that a plugin or a product file in plain JavaScript can contain. */
import { defineBusinessErrors, definePlugin, defineProduct } from '@plinth/kernel'
import t from 'tap'
import { prepareProduct } from '../src/product.ts'

const plugin = (members: object) => definePlugin({ id: 'acme.shop', version: '1.0.0', kernel: '^1.0.0', ...members })
const problemsOf = (members: object, config: object = {}) => {
  const product = defineProduct({ name: 'test', plugins: [plugin(members)], config: config as never })
  return prepareProduct(product, { envFile: false }).problems
}

t.test('C-002 a nested name of a key is reported with the flat name', async (t) => {
  const rows = [
    [{ platform: { http: { port: 1 } } }, 'platform.http.port'],
    [{ 'platform.http': { port: 1 } }, 'platform.http.port'],
  ] as const
  for (const [config, name] of rows) {
    const [problem] = problemsOf({}, config)
    t.hasStrict(problem, { code: 'PLINTH_CONFIG_UNKNOWN_KEY' })
    t.match(problem?.message, ` Keys are flat. Write "${name}".`)
  }
})

t.test('C-002 an unknown code of a business error is a problem of the plan', async (t) => {
  const texts = { teapot: 'It is a teapot.', paid: 'It is paid.' }
  t.strictSame(problemsOf({ businessErrors: [defineBusinessErrors('shop', texts, { paid: '409' })] }), [])
  const [problem] = problemsOf({ businessErrors: [defineBusinessErrors('shop', texts, { teapot: '418' })] })
  t.hasStrict(problem, { code: 'PLINTH_PLAN_INVALID_DECLARATION', plugin: 'acme.shop' })
  t.match(problem?.message, /businessErrors\[0\]\.codes\.teapot must be .*"418"/)
})
