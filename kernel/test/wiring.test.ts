import { startForTest } from '@plinth/dev/testing'
import { asClass, asFunction, PlinthError, type PluginContext } from '@plinth/kernel'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

interface Parts {
  readonly made: string[]
  readonly price: number
  readonly till: Till
  readonly receipt: Receipt
  readonly print: (text: string) => string
}

class Till {
  readonly #parts: Pick<Parts, 'price' | 'receipt'>

  constructor(parts: Pick<Parts, 'price' | 'receipt' | 'made'>) {
    this.#parts = parts
    parts.made.push('till')
  }

  charge(count: number): string {
    return this.#parts.receipt.of(count * this.#parts.price)
  }
}

class Receipt {
  readonly print: Parts['print']
  readonly till: Till

  constructor({ print, till, made }: Pick<Parts, 'print' | 'till' | 'made'>) {
    this.print = print
    this.till = till
    made.push('receipt')
  }

  of(cents: number): string {
    return this.print(`${cents} cents`)
  }
}

/** Calls the function in the setup of a plugin, and stops the product afterwards. */
async function inSetup(setup: (context: PluginContext) => void): Promise<void> {
  const running = await startForTest(productOf([createSamplePlugin('shop', { setup })]))
  await running.stop('test ended')
}

/** Returns the error of a start whose dependencies cannot be created. */
const failed = async <P extends object>(wireParts: (wire: PluginContext['wire']) => P): Promise<Error> =>
  inSetup(({ wire }) => void wireParts(wire)).then(
    () => new Error('it started'),
    (error: Error) => error,
  )

t.test('C-002 parts are created once each, in the order of their dependencies', async (t) => {
  await inSetup(({ wire }) => {
    const made: string[] = []
    const parts = wire<Parts>()(
      { made, price: 7 },
      {
        receipt: asClass(Receipt),
        print: asFunction(({ made }) => {
          made.push('print')
          return (text: string) => `<${text}>`
        }),
        till: asClass(Till),
      },
    )
    t.strictSame(made, ['print', 'till', 'receipt'], 'a required part is created first')
    t.equal(parts.receipt.till, parts.till, 'each part is made once')
    t.equal(parts.till.charge(3), '<21 cents>', 'what a part keeps are the parts, also those that were made after it')
    t.strictSame(Object.keys(parts).sort(), ['made', 'price', 'print', 'receipt', 'till'])
    t.ok(Object.isFrozen(parts))
    const own = Object.values(Object.getOwnPropertyDescriptors(parts))
    t.ok(
      own.every((property) => 'value' in property),
      'the container is asked by nobody any more',
    )
  })
})

t.test('C-002 each call has its own parts, also with names of services and of the container', async (t) => {
  await inSetup(({ wire }) => {
    const parts = () =>
      wire<{ kernel: object; until: string; cradle: string }>()(
        {},
        {
          kernel: asFunction(() => ({})),
          until: asFunction(() => 'a'),
          cradle: asFunction(({ until }) => `${until}b`),
        },
      )
    t.not(parts().kernel, parts().kernel)
    t.equal(parts().cradle, 'ab')
  })
})

t.test('C-002 parts that depend on each other end the setup with their path', async (t) => {
  const error = await failed((wire) =>
    wire<{ outer: number; a: number; b: number; c: number }>()(
      {},
      {
        outer: asFunction(({ a }) => a),
        a: asFunction(({ b }) => b),
        b: asFunction(({ c }) => c),
        c: asFunction(({ a }) => a),
      },
    ),
  )
  t.match(error, { code: /^PLINTH_START_FAILED$/, message: 'Plugin "shop" failed in setup: PLINTH_PARTS_CIRCLE' })
  t.match(error.cause, { code: /^PLINTH_PARTS_CIRCLE$/, message: 'outer -> a -> b -> c -> a.' })
})

t.test(
  'C-002 a part that cannot be created is reported with its dependants; a coded error stays unchanged',
  async (t) => {
    class Broken {
      constructor() {
        throw new TypeError('no paper')
      }
    }
    const error = await failed((wire) =>
      wire<{ a: number; b: number; c: Broken }>()(
        {},
        {
          a: asFunction(({ b }) => b),
          b: asFunction(({ c }) => Number(c)),
          c: asClass(Broken),
        },
      ),
    )
    t.match(error, {
      message: 'Plugin "shop" failed in setup: PLINTH_PART_FAILED: a -> b -> c could not be created: no paper',
    })
    t.match((error.cause as Error).cause, { name: 'TypeError', stack: 'new Broken' })

    const coded = new PlinthError('SHOP_CLOSED', 'The shop is closed.', 'Open the shop.')
    const rejected = await failed((wire) =>
      wire<{ a: number }>()(
        {},
        {
          a: asFunction(() => {
            throw coded
          }),
        },
      ),
    )
    t.match(rejected, { message: 'SHOP_CLOSED: The shop is closed', fix: 'Open the shop.' })
    t.equal(rejected.cause, coded)
  },
)
