import t from 'tap'
import { testInstallOnServer } from '../fixtures/server-install.ts'

testInstallOnServer(t, 'mariadb')
