import t from 'tap'
import { returnsFrom } from '../fixtures/server-install.ts'

returnsFrom(t, 'postgresql')
