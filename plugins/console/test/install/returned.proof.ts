import t from 'tap'
import { testReturnToServer } from '../fixtures/server-install.ts'

testReturnToServer(t, 'postgresql')
