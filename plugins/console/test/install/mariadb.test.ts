import t from 'tap'
import { installsOnServer } from '../fixtures/server-install.ts'

installsOnServer(t, 'mariadb')
