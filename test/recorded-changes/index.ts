import { api } from './api.ts'
import { authors } from './authors.ts'
import { backOffice } from './back-office.ts'
import { configuration } from './configuration.ts'
import { drawn20261126 } from './drawn-20261126.ts'
import { drawn20261127 } from './drawn-20261127.ts'
import { drawn20261128 } from './drawn-20261128.ts'
import { drawn20261129 } from './drawn-20261129.ts'
import { drawn20261130 } from './drawn-20261130.ts'
import { drawn20261202 } from './drawn-20261202.ts'
import { identity } from './identity.ts'
import { installation } from './installation.ts'
import { money } from './money.ts'
import { notification } from './notification.ts'
import { points } from './points.ts'
import { program } from './program.ts'
import type { RecordedChange } from './recorded-change.ts'
import { release } from './release.ts'
import { settlement } from './settlement.ts'
import { wallets } from './wallets.ts'

/** All recorded changes. */
export const recordedChanges: readonly RecordedChange[] = [
  ...api,
  ...authors,
  ...backOffice,
  ...configuration,
  ...drawn20261126,
  ...drawn20261127,
  ...drawn20261128,
  ...drawn20261129,
  ...drawn20261130,
  ...drawn20261202,
  ...identity,
  ...installation,
  ...money,
  ...notification,
  ...points,
  ...program,
  ...release,
  ...settlement,
  ...wallets,
]
